package main

import (
	"net/http"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/service/cron"
	"github.com/tandem-do/tandem/durableobject/service/kv"
)

// services returns the classes of the platform's services.
func services() []durableobject.Class {
	// Workers are on this machine, or where they said; their answers come when their handlers have ended.
	transport := &http.Transport{MaxIdleConnsPerHost: 4, MaxIdleConns: 64, IdleConnTimeout: time.Minute}
	return []durableobject.Class{kv.Class(), cron.Class(cron.Options{Deliver: cron.ByHTTP(transport)})}
}
