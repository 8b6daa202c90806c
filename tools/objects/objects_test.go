package objects

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// fake is a host with one object, and found what is read of it.
type (
	fake struct {
		dopb.AdminServiceClient
		deleted int
	}
	found struct{ source }
)

func (found) GetObject(context.Context, *dopb.GetObjectRequest) (*dopb.GetObjectResponse, error) {
	return &dopb.GetObjectResponse{Namespace: "w-A", Object: &dopb.ObjectSummary{ObjectId: []byte{1}, Keys: 3}}, nil
}

func (f *fake) DeleteObject(context.Context, *dopb.DeleteObjectRequest, ...grpc.CallOption) (
	*dopb.DeleteObjectResponse, error,
) {
	f.deleted++
	return &dopb.DeleteObjectResponse{}, nil
}

// Nothing is deleted unless somebody has said yes.
func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	name := "a"
	ref, err := NewRef("w-A", "", &name)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ask     Confirmation
		answer  string
		deleted int
	}{
		{Confirmation{Yes: true}, "", 1},
		{Confirmation{Terminal: true}, "yes\n", 1},
		{Confirmation{Terminal: true}, " Y \n", 1},
		{Confirmation{Terminal: true}, "yes", 1},
		{Confirmation{Terminal: true}, "", 0},
		{Confirmation{Terminal: true}, "\n", 0},
		{Confirmation{Terminal: true}, "no\nyes\n", 0},
		{Confirmation{Terminal: true}, strings.Repeat("y", 5000), 0},
		{Confirmation{}, "yes\n", 0},
	} {
		f := &fake{}
		var question bytes.Buffer
		c := &Client{source: found{}, actions: f, now: time.Now, options: Options{Stdout: &bytes.Buffer{}}}
		tt.ask.In, tt.ask.Out = strings.NewReader(tt.answer), &question
		err := c.Delete(t.Context(), ref, tt.ask)
		if f.deleted != tt.deleted || (err == nil) != (tt.deleted == 1) {
			t.Errorf("%+v with %.10q: deleted %d, %v", tt.ask, tt.answer, f.deleted, err)
		}
		if tt.ask.Terminal && !strings.Contains(question.String(), "w-A 01: 3 keys") {
			t.Errorf("the question is %q", question.String())
		}
		if tt.ask.Terminal && tt.deleted == 0 && !errors.Is(err, ErrNotConfirmed) {
			t.Errorf("%.10q: got %v", tt.answer, err)
		}
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"lobby": "lobby", "": `""`, "a b": `"a b"`, "a\tb": `"a\tb"`, "\x1b[2J": `"\x1b[2J"`, "\xff": `"\xff"`, "é": "é",
		"a\u202eb": `"a\u202eb"`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	c := &Client{now: func() time.Time { return now }}
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(d)) }
	for want, got := range map[string]string{
		"not live":                    c.actorText(nil),
		"idle for 3s":                 c.actorText(&dopb.ActorInfo{LastActive: at(-3 * time.Second)}),
		"2 active":                    c.actorText(&dopb.ActorInfo{Active: 2}),
		"2 active, 1 of them waiting": c.actorText(&dopb.ActorInfo{Active: 2, Waiting: 1}),
		`broken (panic): "a b"`:       c.actorText(&dopb.ActorInfo{BrokenReason: "panic", BrokenMessage: "a b"}),
		"in 1d1h (retry 2)":           c.alarmShort(&dopb.AlarmInfo{DueTime: at(25 * time.Hour), Retries: 2}),
		"1m1s ago":                    c.alarmShort(&dopb.AlarmInfo{DueTime: at(-61 * time.Second)}),
		"none":                        c.alarmLong(nil),
		"over 1000":                   count(1000, true),
		"1.5 KiB":                     bytesText(1536),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
