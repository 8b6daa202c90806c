package telemetrytest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	ctx, rec := telemetrytest.Record(t)
	ctx, outer := telemetry.Start(ctx, telemetry.SpanExecute)
	_, inner := telemetry.Start(ctx, telemetry.SpanCodeExec)
	inner.SetInt("n", 3)
	inner.End(errors.New("no"))
	outer.End(nil)
	want := []telemetrytest.Span{
		{Name: telemetry.SpanCodeExec, Parent: telemetry.SpanExecute, Status: "error", Error: "no",
			Attributes: map[string]string{"n": "3"}},
		{Name: telemetry.SpanExecute, Status: "ok", Attributes: map[string]string{}},
	}
	if d := cmp.Diff(want, rec.Ended()); d != "" {
		t.Error(d)
	}
}
