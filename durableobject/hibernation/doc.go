// Package hibernation will hold the state of sockets whose object has left memory.
package hibernation
