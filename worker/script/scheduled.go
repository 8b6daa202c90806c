package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// Scheduled runs the script's scheduled handler for a time and the schedule that names it.
func (s *Script) Scheduled(ctx context.Context, at time.Time, cron string) error {
	release, i, err := s.pool.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	return webapi.Scheduled(ctx, i, at, cron)
}

// scheduled runs the handler on demand: ?cron=…&time=… in milliseconds. It answers with the outcome.
func (s *Script) scheduled(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if text := r.URL.Query().Get("time"); text != "" {
		millis, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			http.Error(w, fmt.Sprintf("time %q is no number of milliseconds", text), http.StatusBadRequest)
			return
		}
		at = time.UnixMilli(millis)
	}
	err := s.Scheduled(r.Context(), at, r.URL.Query().Get("cron"))
	outcome, status := isolate.OutcomeOK, http.StatusOK
	if err != nil {
		outcome, status = isolate.OutcomeException, http.StatusInternalServerError
		if x, ok := errors.AsType[*isolate.Exception](err); ok {
			outcome = x.Outcome
			s.o.OnLog(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
		}
	}
	text := outcome.String()
	if r.URL.Path == "/__scheduled" && err == nil {
		text = "Ran scheduled event"
	}
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}
