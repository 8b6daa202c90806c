// Package service will hold the platform's services that are objects themselves: KV, queues and cron.
package service
