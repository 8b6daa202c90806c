package env

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/nodeapi"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// Isolate returns the options of an isolate that has everything that the script may use: the web platform, the modules of
// Node.js that its compatibility date and flags switch on, cloudflare:workers, and env. Of web, Env is not used. The
// caller sets the rest.
func (o Options) Isolate(web webapi.Options) isolate.Options {
	m := o.Manifest
	web.Env, web.Exports = o.Env(), o.exports()
	modules := nodeapi.Modules(m.CompatibilityDate, m.CompatibilityFlags)
	maps.Copy(modules, Modules())
	return isolate.Options{
		Install: []func(*isolate.Isolate) error{
			webapi.Install(web), nodeapi.Install(nodeapi.Options{Env: o.texts()}),
		},
		Modules:       modules,
		Entrypoints:   true,
		Compatibility: isolate.Compatibility{Date: m.CompatibilityDate, Flags: m.CompatibilityFlags},
	}
}

// texts are the vars and secrets as text: what is none, as JSON.
func (o Options) texts() map[string]string {
	out := map[string]string{}
	for _, v := range o.Manifest.Vars {
		var text string
		if json.Unmarshal(v.Value, &text) != nil {
			var compact bytes.Buffer
			if json.Compact(&compact, v.Value) != nil {
				continue
			}
			text = compact.String()
		}
		out[v.Name] = text
	}
	maps.Copy(out, o.Secrets)
	return out
}
