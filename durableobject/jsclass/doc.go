// Package jsclass will run Durable Object classes written in JavaScript on the actors that Go classes run on.
package jsclass
