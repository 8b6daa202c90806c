package env

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// outward is Outward for how an event of an entrypoint ended, with the properties of what was thrown. It may be called
// from any goroutine but the isolate's.
func outward(ctx context.Context, i *isolate.Isolate, err error) error {
	out := Outward(i.Compatibility(), err)
	x, thrown := errors.AsType[*isolate.Exception](err)
	if !thrown || x.Value == nil || !EnhancedErrors(i.Compatibility()) {
		return out
	}
	if e, ok := errors.AsType[*sidecar.Error](out); ok {
		// An error of this event leaves nothing to say.
		_ = i.NewContext(isolate.ContextOptions{}).Run(ctx, func(*isolate.Event) (goja.Value, error) {
			e.Properties = string(ErrorProperties(webapi.Of(i), x.Value, nil))
			return goja.Undefined(), nil
		}, nil)
	}
	return out
}
