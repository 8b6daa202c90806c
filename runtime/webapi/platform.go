package webapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// AddPlatformClass has the instances of a class of another package's count as the platform's own: they cannot be
// serialized.
func (r *Realm) AddPlatformClass(class *goja.Object) {
	r.prelude.prototypes[class.Get("prototype").(*goja.Object)] = true
}

// NewDOMException makes a DOMException.
func (r *Realm) NewDOMException(name, message string) *goja.Object {
	return r.newDOMException(name, message)
}

// Delivery is how a request is taken to code that is no export of the script: an instance of an object's class.
type Delivery struct {
	Isolate *isolate.Isolate
	// Run delivers an event, as isolate.Context.Run does.
	Run func(
		ctx context.Context, start func(*isolate.Event) (goja.Value, error), finish func(*isolate.Event, goja.Value) error,
	) error
	// Handler gets the Request, and returns a Response or a promise of one.
	Handler func(request *goja.Object) (goja.Value, error)
	// NotResponse is the message of the TypeError when it returned neither. That of a promise of something else is as
	// that of handlers.
	NotResponse string
}

// Fetch delivers a request and returns the response, as the function Fetch does.
func (d Delivery) Fetch(ctx context.Context, in *http.Request) (*http.Response, error) {
	var out Reply
	notResponse := d.NotResponse
	err := d.Run(ctx, func(*isolate.Event) (goja.Value, error) {
		v, err := d.Handler(Of(d.Isolate).NewRequest(in))
		if o, ok := v.(*goja.Object); ok && o.ExportType() == reflect.TypeFor[*goja.Promise]() {
			notResponse = notResponseText
		}
		return v, err
	}, func(e *isolate.Event, v goja.Value) error {
		r := Of(d.Isolate)
		p, ok := r.response.of(v)
		if !ok {
			return r.thrown("TypeError", notResponse)
		}
		return r.takeReply(e, p, &out)
	})
	if err != nil {
		return nil, err
	}
	return out.response(in), nil
}
