//go:build !linux || !(amd64 || arm64)

package program

import "errors"

func filterSystemCalls() error { return errors.ErrUnsupported }
