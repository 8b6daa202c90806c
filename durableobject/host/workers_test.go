package host

import (
	"strings"
	"testing"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/runtime/binding"
)

// TestDeployWorker: one Worker's classes get other code, and the objects of another do not notice.
func TestDeployWorker(t *testing.T) {
	t.Parallel()
	bubble(t, versions("one", "Test"), func(t *testing.T, s *stack) {
		want := func(worker, want string) {
			t.Helper()
			stub := binding.NewNamespace(worker+"-Test", s.host.Local()).GetByName("a")
			if got, err := durableobject.Call[string](t.Context(), stub, "add", 0); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", worker, got, err, want)
			}
		}
		want("w", "one 1")
		for _, v := range []string{"two", "three"} {
			if err := s.host.DeployWorker(t.Context(), "v", versions(v, "Test")); err != nil {
				t.Fatal(err)
			}
		}
		want("v", "three 1")
		want("w", "one 2")
		if got := s.router.calls(); got != "join w-Test; join v-Test,w-Test" {
			t.Error(got)
		}
		if err := s.host.DeployWorker(t.Context(), "v", nil); err != nil {
			t.Fatal(err)
		}
		if got := s.host.classes.namespaces(true); len(got) != 1 || got[0] != "w-Test" {
			t.Errorf("left are %v", got)
		}
		want("w", "one 3")
	})
}

func TestValidateWorkers(t *testing.T) {
	t.Parallel()
	for want, others := range map[string][]WorkerClasses{
		`worker "w" is given twice`:                       {{Worker: "w"}},
		"another worker is empty or that of the platform": {{}},
		`class "Test" is given twice`:                     {{Worker: "v", Classes: versions("x", "Test", "Test")}},
	} {
		o := Options{Worker: "w", Classes: versions("x", "Test"), Others: others}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
