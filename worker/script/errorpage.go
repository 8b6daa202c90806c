package script

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// errorPage is what a browser shows of an error that the script did not catch.
const errorPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>%[1]s</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.3rem; color: #b00020 } pre { background: #f4f4f4; padding: 1rem; overflow: auto }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b } h1 { color: #ff8a80 } pre { background: #262626 }
}
</style></head>
<body><h1>%[1]s</h1><p>%[2]s %[3]s: the Worker did not catch this error.</p><pre>%[4]s</pre></body></html>
`

// describeError returns the body of a response to a client in development, and its type: a page for a browser.
func describeError(r *http.Request, x *isolate.Exception) (contentType, body string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return "text/plain;charset=UTF-8", x.Stack
	}
	title, _, _ := strings.Cut(x.Stack, "\n")
	return "text/html;charset=UTF-8", fmt.Sprintf(errorPage, html.EscapeString(title), html.EscapeString(r.Method),
		html.EscapeString(r.URL.RequestURI()), html.EscapeString(x.Stack))
}
