//go:build !linux || !(amd64 || arm64)

package program

func confined(string) {}
