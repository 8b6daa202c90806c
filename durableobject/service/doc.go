// Package service holds the platform's services that are objects themselves: kv and cron; queues are to come. Each is a
// class in Go for host.Options.Services, written against package durableobject alone.
package service
