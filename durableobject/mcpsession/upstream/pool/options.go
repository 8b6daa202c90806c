package pool

import (
	"log/slog"
	"time"
)

// Defaults of Options.
const (
	defaultCallTimeout    = time.Minute
	defaultConnectTimeout = 30 * time.Second
	defaultIdleTimeout    = 5 * time.Minute
	defaultMaxConnections = 256
	defaultMaxCalls       = 16
	defaultMaxWeightBytes = 32 << 20
	// ownerShare is the part of the connections that one owner may have: a quarter.
	ownerShare = 4
)

// Options bound a pool. The zero value works.
type Options struct {
	// CallTimeout bounds one call, the wait for a place and for the connection included. Default 60 s.
	CallTimeout time.Duration
	// ConnectTimeout bounds a connection's opening. Default 30 s.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection is kept without use. Default 5 min.
	IdleTimeout time.Duration
	// MaxConnections bounds the connections; one owner may have a quarter of them. Default 256.
	MaxConnections int
	// MaxWeightBytes bounds what the connections weigh together, by Weighty. Default 32 MiB.
	MaxWeightBytes int
	// MaxCalls bounds the calls at once to one source. Default 16.
	MaxCalls int
	// Log takes what went wrong in sources' code; nil discards it.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	duration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	duration(&o.CallTimeout, defaultCallTimeout)
	duration(&o.ConnectTimeout, defaultConnectTimeout)
	duration(&o.IdleTimeout, defaultIdleTimeout)
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	if o.MaxWeightBytes <= 0 {
		o.MaxWeightBytes = defaultMaxWeightBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
