package webapi

import (
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// Marks are there from the date on at which they are workerd's, and the oldest are dropped where there are too many.
func TestPerformance(t *testing.T) {
	t.Parallel()
	const code = `export default { fetch() {
		if (!performance.mark) return new Response(typeof performance.now() + " " + Object.keys(performance));
		for (let n = 0; n <= 10000; n++) performance.mark("m" + n);
		const names = performance.getEntries().map((e) => e.name);
		return Response.json([names.length, names[0], names.at(-1), performance.getEntriesByName("m0").length]);
	} };`
	for date, want := range map[string]string{"2026-08-03": "number ", "2026-08-20": `[9001,"m1000","m10000",0]`} {
		i := newWorker(t, code, isolate.Options{Compatibility: isolate.Compatibility{Date: date}}, Options{})
		if _, body, err := get(t, i, "/"); err != nil || body != want {
			t.Errorf("%s: got %s, %v, want %s", date, body, err, want)
		}
	}
}
