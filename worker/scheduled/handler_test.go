package scheduled

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	var last string
	h := Handler(Options{
		Worker: "w", Now: func() time.Time { return time.UnixMilli(7) },
		Deliver: func(_ context.Context, e cron.Event) (cron.Result, error) {
			last = fmt.Sprintf("%s %q %d", e.Worker, e.Cron, e.ScheduledTime.UnixMilli())
			switch e.Cron {
			case "boom":
				return cron.Result{Outcome: "exception", NoRetry: true}, nil
			case "gone":
				return cron.Result{}, errors.New("secret")
			}
			return cron.Result{Outcome: "ok"}, nil
		},
	})
	const path = cron.DeliveryPath
	for _, tc := range []struct {
		url    string
		status int
		body   string
		event  string
	}{
		{path, 200, "ok", `w "" 7`},
		{path + "?cron=*+*+*+*+*&time=1000", 200, "ok", `w "* * * * *" 1000`},
		{"/cdn-cgi/handler/scheduled?cron=%2a/5+*+*+*+*", 200, "ok", `w "*/5 * * * *" 7`},
		{"/__scheduled?cron=x", 200, "Ran scheduled event", `w "x" 7`},
		{"/__scheduled?cron=boom", 500, "exception", `w "boom" 7`},
		{path + "?cron=boom&format=json", 500, `{"outcome":"exception","noRetry":true}`, `w "boom" 7`},
		{path + "?format=json&time=-5", 200, `{"outcome":"ok","noRetry":false}`, `w "" -5`},
		{path + "?cron=gone", 500, "internalError", `w "gone" 7`},
		{path + "?time=soon", 400, "time \"soon\" is no number of milliseconds since 1970\n", ""},
		{path + "?time=9000000000000000", 400, "time \"9000000000000000\" is no number of milliseconds since 1970\n", ""},
		{path + "?format=xml", 400, "format \"xml\" is not known, want \"json\" or none\n", ""},
		{path + "?cron=" + strings.Repeat("x", 513), 400, "cron has 513 bytes, at most 512\n", ""},
	} {
		last = ""
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.url, nil))
		if w.Code != tc.status || w.Body.String() != tc.body || last != tc.event {
			t.Errorf("%s: got %d %q, event %s; want %d %q, event %s", tc.url, w.Code, w.Body, last, tc.status, tc.body, tc.event)
		}
	}
}
