package webapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// ST-9: request.cf is what the host says, or what another script has sent. Nobody makes it before the script looks.
func TestCF(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		if (request.method === "PUT") return new Response("not looked at");
		const copy = new Request(request);
		copy.cf.b = 2;
		return Response.json([request.cf.a.country, Object.isFrozen(request.cf.a), request.clone().cf === request.cf, copy.cf,
			[...request.headers].length]);
	} };`, isolate.Options{}, Options{})
	looks := 0
	host := func(*http.Request) string {
		looks++
		return `{"a":{"country":"host"}}`
	}
	for _, tt := range []struct {
		method  string
		cf      CF
		carried string
		want    string
		looks   int
	}{
		{"PUT", host, "", "not looked at", 0},
		{"GET", host, "", `["host",true,false,{"a":{"country":"host"},"b":2},1]`, 1},
		{"GET", nil, `{"a":{"country":"sent"}}`, `["sent",true,false,{"a":{"country":"sent"},"b":2},1]`, 1},
	} {
		in := httptest.NewRequest(tt.method, "http://a/", nil)
		in.Header = http.Header{"X-A": {"1"}}
		if tt.carried != "" {
			in.Header[sidecar.HeaderCF] = []string{tt.carried}
		}
		reply, err := Deliver(t.Context(), i, in, Call{CF: tt.cf})
		if err != nil || string(reply.Data) != tt.want || looks != tt.looks {
			t.Errorf("%s: got %s, %v after %d looks, want %s after %d", tt.method, reply.Data, err, looks, tt.want, tt.looks)
		}
	}
}
