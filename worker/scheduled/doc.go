// Package scheduled takes scheduled events to a Worker by HTTP.
//
//	GET /cdn-cgi/local/scheduled?cron=*+*+*+*+*&time=1700000000000&format=json ──► Deliver ──► 200 {"outcome":"ok",…}
//
// Paths are those of wrangler, old and new. The answer is the outcome as text, or with format=json an object with noRetry
// too; its status is 200 for "ok" and 500 otherwise. It is for development: whoever reaches the address can run the
// handler. All of it may be called from any goroutine.
package scheduled
