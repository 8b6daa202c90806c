package policies

import (
	"log/slog"
	"net/http"

	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/api"
	"github.com/tandem-do/tandem/worker/auth"
)

// Path is where the policies are; one of them is at Path, a slash and its ID.
const Path = "/api/policies"

// Options say how the handler works.
type Options struct {
	// Gate authenticates, Web those without a bearer token; nil Web: nobody without one.
	Gate *auth.Gate
	Web  api.Web
	// Policies is the namespace of the policies objects.
	Policies *binding.Namespace
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// New returns the handler of Path and what is below it.
func New(o Options) http.Handler {
	return api.New(api.Options{
		Path: Path, What: "policies", Operation: operation, Gate: o.Gate, Web: o.Web, Objects: o.Policies,
		Log: o.Log,
	})
}
