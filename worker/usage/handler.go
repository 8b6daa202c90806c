package usage

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/api"
	"github.com/tandem-do/tandem/worker/auth"
)

// Path is where the usage is.
const Path = "/api/usage"

// defaultHours is for how many hours it is told when the request does not say.
const defaultHours = 24

// Options say how the handler works.
type Options struct {
	// Gate authenticates, Web those without a bearer token; nil Web: nobody without one.
	Gate *auth.Gate
	Web  api.Web
	// Usage is the namespace of the usage objects.
	Usage *binding.Namespace
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// New returns the handler of Path.
func New(o Options) http.Handler {
	return api.New(api.Options{
		Path: Path, What: "usage", Operation: operation, Gate: o.Gate, Web: o.Web, Objects: o.Usage, Log: o.Log,
	})
}

func operation(method string, elements []string) (api.Operation, string) {
	switch {
	case len(elements) > 0:
		return nil, ""
	case method == http.MethodGet:
		return report, ""
	}
	return nil, "GET"
}

func report(ctx context.Context, r api.Request) (any, error) {
	hours := defaultHours
	if text := r.Query.Get("hours"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > props.MaxUsageHours {
			return nil, api.BadInput("hours must be a whole number between 1 and %d", props.MaxUsageHours)
		}
		hours = n
	}
	return api.Call[props.UsageReport](ctx, r.Stub, props.MethodUsageReport, props.UsageQuery{Hours: hours})
}
