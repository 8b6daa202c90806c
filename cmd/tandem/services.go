package main

import (
	"net/http"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/service/cron"
	"github.com/tandem-do/tandem/durableobject/service/kv"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// services returns the classes of the platform's services. Workers are reached through caller.
func services(caller sidecar.Caller) []durableobject.Class {
	// Those that said where they are are on this machine; their answers come when their handlers have ended.
	transport := &http.Transport{MaxIdleConnsPerHost: 4, MaxIdleConns: 64, IdleConnTimeout: time.Minute}
	deliver := cron.Delivery(cron.ByHTTP(transport), cron.ByRouter(caller))
	return []durableobject.Class{kv.Class(), cron.Class(cron.Options{Deliver: deliver})}
}
