// Package webapi will hold the web platform's globals for isolates, one file a global.
package webapi
