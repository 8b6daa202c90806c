// Package seal keeps the secrets of sources: AES-256-GCM under one key of the host.
//
// A sealed secret is bound to what it belongs to (the associated data), so that one source's is no other's, and carries
// the ID of its key, so that a wrong key is told from damage. Whoever has both the key and the store has the secrets:
// keep the key elsewhere where that matters.
//
// A Sealer may be used from any goroutine.
package seal
