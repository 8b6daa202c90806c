package sources

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/api"
	"github.com/tandem-do/tandem/worker/auth"
)

// Path is where the sources are; one of them is at Path, a slash and its ID.
const Path = "/api/sources"

const (
	// timeout bounds a request: a new source is asked for its tools before it is added.
	timeout = 55 * time.Second
	// maxBodyBytes leaves room for a document with every byte escaped, and for the secret.
	maxBodyBytes = 2*props.MaxSourceDocumentBytes + 2*props.MaxSourceSecretBytes + 64<<10
)

// Options say how the handler works.
type Options struct {
	// Gate authenticates, Web those without a bearer token; nil Web: nobody without one.
	Gate *auth.Gate
	Web  api.Web
	// Sources is the namespace of the sources objects.
	Sources *binding.Namespace
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// New returns the handler of Path and what is below it.
func New(o Options) http.Handler {
	return api.New(api.Options{
		Path: Path, What: "sources", Operation: operation, Gate: o.Gate, Web: o.Web, Objects: o.Sources,
		Timeout: timeout, MaxBodyBytes: maxBodyBytes, Log: o.Log,
	})
}
