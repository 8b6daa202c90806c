package usage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
	"github.com/tandem-do/tandem/worker/usage"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const publicURL = "http://127.0.0.1:8787"

type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	return directory.Membership{AccountID: account, OrganizationID: organization}, nil
}

// object is the organization's usage object: it records how many hours were asked for.
type object struct {
	sidecar.Caller
	query props.UsageQuery
}

func (o *object) Call(_ context.Context, _ sidecar.Target, method string, args []byte) ([]byte, error) {
	if err := v8value.UnmarshalArguments(args, &o.query); err != nil {
		return nil, err
	}
	if method != props.MethodUsageReport {
		return nil, &sidecar.Error{Name: props.ErrorNameNotFound}
	}
	return v8value.Marshal(props.UsageReport{
		Limits: props.UsageLimits{Concurrent: 100}, Running: 1,
		Hours: []props.UsageHour{{Executions: 2, Outcomes: map[string]int64{"completed": 2}, CPUMS: 3, WallMS: 4}},
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	gate, err := auth.NewGate(auth.Options{PublicURL: publicURL, Issuer: iss.URL, Members: members{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	o := &object{}
	handler := usage.New(usage.Options{Gate: gate, Usage: binding.NewNamespace(props.NamespaceUsage, o)})
	token := iss.Token(t, publicURL+"/mcp", map[string]any{"sub": "user_1"})
	const report = `{"limits":{"concurrent":100,"perHour":0},"running":1,"hours":[{"hour":"0001-01-01T00:00:00Z",` +
		`"executions":2,"refused":0,"outcomes":{"completed":2},"cpuMs":3,"wallMs":4}]}`
	const bad = `{"error":"bad_request","message":"hours must be a whole number between 1 and 744"}`
	for _, tc := range []struct {
		name, method, path, token string
		status                    int
		body                      string // empty: any
		hours                     int
	}{
		{"a day", "GET", "/api/usage", token, http.StatusOK, report, 24},
		{"some hours", "GET", "/api/usage?hours=3", token, http.StatusOK, report, 3},
		{"no hours", "GET", "/api/usage?hours=0", token, http.StatusBadRequest, bad, 0},
		{"too many", "GET", "/api/usage?hours=745", token, http.StatusBadRequest, bad, 0},
		{"no number", "GET", "/api/usage?hours=x", token, http.StatusBadRequest, bad, 0},
		{"nobody", "GET", "/api/usage", "", http.StatusUnauthorized, "", 0},
		{"another method", "POST", "/api/usage", token, http.StatusMethodNotAllowed, "", 0},
		{"below", "GET", "/api/usage/x", token, http.StatusNotFound, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o.query = props.UsageQuery{}
			r := httptest.NewRequestWithContext(t.Context(), tc.method, publicURL+tc.path, nil)
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tc.status || o.query.Hours != tc.hours {
				t.Errorf("status %d, asked for %d hours: %s", w.Code, o.query.Hours, w.Body)
			}
			if got := w.Body.String(); tc.body != "" {
				if diff := cmp.Diff(tc.body, got); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
		})
	}
}
