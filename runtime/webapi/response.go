package webapi

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// Response is what is behind a Response object.
type Response struct {
	internal
	body
	status      int
	statusText  string
	headers     *Headers
	headersView *goja.Object
	url         string
	redirected  bool
	kind        string
	webSocket   goja.Value
	// cf is nil for none.
	cf *properties
	// manualEncoding is set when the script has encoded the body as the headers say.
	manualEncoding bool
}

// jsonType is the content type of Response.json.
const jsonType = "application/json"

func isNullBodyStatus(status int) bool {
	return status == 101 || status == 204 || status == 205 || status == 304
}

// newResponse makes a response of what its constructor takes.
func (r *Realm) newResponse(init goja.Value, content body, contentType string) *Response {
	made := &struct {
		Response
		headers Headers
		room    [2]header // for the first headers
	}{}
	p := &made.Response
	*p = Response{status: 200, kind: "default", headers: &made.headers, body: content}
	p.headers.list = made.room[:0]
	if o := r.initOf(init, "Failed to construct 'Response': constructor parameter 2", "InitializerDict or Response"); o != nil {
		if from, ok := r.response.of(o); ok {
			p.status, p.statusText, p.cf = from.status, from.statusText, from.cf.copied(r)
			p.headers = from.headers.clone()
		} else {
			r.applyResponseInit(p, o)
		}
	}
	if isNullBodyStatus(p.status) && content.replayable() && len(content.data) == 0 {
		p.body = nullBody()
	} else if !content.null && isNullBodyStatus(p.status) {
		r.throwType("Response with null body status (101, 204, 205, or 304) cannot have a body.")
	}
	if contentType != "" {
		if _, ok := p.headers.get("content-type"); !ok {
			p.headers.list = append(p.headers.list, header{"content-type", contentType})
		}
	}
	return p
}

func (r *Realm) applyResponseInit(p *Response, init *goja.Object) {
	if v := init.Get("status"); !isMissing(v) {
		p.status = int(v.ToInteger())
	}
	if v := init.Get("webSocket"); !isNullish(v) {
		p.webSocket = v
	}
	if (p.status < 200 || p.status > 599) && (p.status != 101 || p.webSocket == nil) {
		r.isolate.Throw("RangeError",
			"Responses may only be constructed with status codes in the range 200 to 599, inclusive.")
	}
	if v := init.Get("statusText"); !isMissing(v) {
		p.statusText = r.text(v)
		if strings.ContainsAny(p.statusText, "\r\n\x00") {
			r.throwType("Invalid statusText")
		}
	}
	if v := init.Get("headers"); !isNullish(v) {
		r.fillHeaders(p.headers, v, "Incorrect type for the 'headers' field on 'InitializerDict': the provided value is not")
	}
	if v := init.Get("cf"); !isMissing(v) {
		p.cf = r.newProperties(v, "InitializerDict")
	}
	if v := init.Get("encodeBody"); !isMissing(v) {
		switch r.text(v) {
		case "manual":
			p.manualEncoding = true
		case "automatic":
		default:
			r.throwType("encodeBody: unexpected value: %s", r.text(v))
		}
	}
}

// requireEvent throws at global scope, where workerd makes no responses.
func (r *Realm) requireEvent() { r.isolate.RequireEvent() }

func (r *Realm) cloneResponse(p *Response) *goja.Object {
	if p.webSocket != nil {
		r.throwType("Cannot clone a response to a WebSocket handshake.")
	}
	copied := *p
	copied.body, copied.cf = r.fork(&p.body), p.cf.copied(r)
	copied.headers, copied.headersView = p.headers.clone(), nil
	copied.headers.immutable = p.headers.immutable
	return r.response.wrap(&copied)
}

func (r *Realm) installResponse() error {
	c := newClass(r, "Response", func(call goja.ConstructorCall) *Response {
		if !isNullish(call.Argument(0)) {
			r.requireEvent()
		}
		content, kind := r.extract(call.Argument(0))
		return r.newResponse(call.Argument(1), content, kind)
	})
	r.response = c
	r.installResponseStatics(c)
	c.method("clone", func(p *Response, _ goja.FunctionCall) goja.Value { return r.cloneResponse(p) })
	attribute := func(name string, get func(*Response) any) {
		c.attribute(name, func(p *Response) goja.Value { return r.rt.ToValue(get(p)) }, nil)
	}
	attribute("status", func(p *Response) any { return p.status })
	attribute("statusText", func(p *Response) any { return p.statusText })
	c.attribute("headers", func(p *Response) goja.Value {
		if p.headersView == nil {
			p.headersView = r.headers.wrap(p.headers)
		}
		return p.headersView
	}, nil)
	attribute("ok", func(p *Response) any { return p.status >= 200 && p.status < 300 })
	attribute("redirected", func(p *Response) any { return p.redirected })
	attribute("url", func(p *Response) any { return p.url })
	c.attribute("webSocket", func(p *Response) goja.Value {
		if p.webSocket == nil {
			return goja.Null()
		}
		return p.webSocket
	}, nil)
	c.attribute("cf", func(p *Response) goja.Value { return p.cf.view(r) }, nil)
	attribute("type", func(p *Response) any { return p.kind })
	return c.install()
}

func (r *Realm) installResponseStatics(c *class[*Response]) {
	c.static("error", func(goja.FunctionCall) goja.Value {
		return c.wrap(&Response{kind: "error", headers: &Headers{}, body: nullBody()})
	})
	c.static("redirect", func(call goja.FunctionCall) goja.Value {
		target := c.text(call, 0, "redirect")
		u, err := parseURL(target, "")
		if err != nil {
			r.throwType("Unable to parse URL: %s", target)
		}
		p := &Response{status: 302, kind: "default", body: nullBody()}
		if v := call.Argument(1); !isMissing(v) {
			p.status = int(v.ToInteger())
		}
		switch p.status {
		case 301, 302, 303, 307, 308:
		default:
			r.isolate.Throw("RangeError", "%d is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.",
				p.status)
		}
		p.headers = &Headers{list: []header{{"location", u.Href(false)}}, immutable: true}
		return c.wrap(p)
	})
	c.static("json", func(call goja.FunctionCall) goja.Value {
		return c.wrap(r.newResponse(call.Argument(1), bytesBody(r.stringify(call.Argument(0))), jsonType))
	})
}

// stringify is JSON.stringify.
func (r *Realm) stringify(v goja.Value) []byte {
	if _, ok := v.(*goja.Object); !ok && v.ExportType() == int64Type {
		return strconv.AppendInt(nil, v.ToInteger(), 10)
	}
	return []byte(r.call(r.intrinsic.jsonStringify, goja.Undefined(), v).String())
}

var int64Type = reflect.TypeFor[int64]()

// ResponseOf returns what is behind a Response object.
func (r *Realm) ResponseOf(v goja.Value) (*Response, bool) { return r.response.of(v) }
