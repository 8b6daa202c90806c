package scheduled

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
)

// shortPath is that of wrangler's --test-scheduled, which answers with a sentence.
const shortPath = "/__scheduled"

// Paths are all addresses that a handler is for.
func Paths() []string { return []string{cron.DeliveryPath, "/cdn-cgi/handler/scheduled", shortPath} }

// maxCronBytes bounds the expression of an event.
const maxCronBytes = 512

// maxMillis is the last time that JavaScript can hold.
const maxMillis = 8_640_000_000_000_000

// Options say where events go.
type Options struct {
	// Worker is the Worker's name.
	Worker string
	// Deliver runs the handler. Required.
	Deliver cron.Deliver
	// Now is the time of an event that names none; nil means time.Now.
	Now func() time.Time
	// Log is told of errors of Deliver; nil drops them.
	Log *slog.Logger
}

// Handler takes events at Paths. An error of Deliver is logged and not shown to the client.
func Handler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, err := o.event(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := o.Deliver(r.Context(), e)
		if err != nil {
			o.Log.Error("a scheduled event was not delivered", "err", err)
			result = cron.Result{Outcome: cron.OutcomeInternalError}
		}
		answer(w, r, result)
	})
}

// event reads an event of a query. cron need not be a schedule of the Worker, nor one at all. Like miniflare.
func (o Options) event(q url.Values) (cron.Event, error) {
	e := cron.Event{Worker: o.Worker, Cron: q.Get("cron"), ScheduledTime: o.Now()}
	if len(e.Cron) > maxCronBytes {
		return e, fmt.Errorf("cron has %d bytes, at most %d", len(e.Cron), maxCronBytes)
	}
	if text := q.Get("time"); text != "" {
		millis, err := strconv.ParseInt(text, 10, 64)
		if err != nil || millis < -maxMillis || millis > maxMillis {
			return e, fmt.Errorf("time %.40q is no number of milliseconds since 1970", text)
		}
		e.ScheduledTime = time.UnixMilli(millis)
	}
	if format := q.Get("format"); format != "" && format != "json" {
		return e, fmt.Errorf(`format %.40q is not known, want "json" or none`, format)
	}
	return e, nil
}

func answer(w http.ResponseWriter, r *http.Request, result cron.Result) {
	status, contentType, text := http.StatusOK, "text/plain;charset=UTF-8", []byte(result.Outcome)
	if result.Outcome != cron.OutcomeOK {
		status = http.StatusInternalServerError
	}
	switch {
	case r.URL.Query().Get("format") == "json":
		contentType = "application/json"
		text, _ = json.Marshal(result)
	case r.URL.Path == shortPath && status == http.StatusOK:
		text = []byte("Ran scheduled event")
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}
