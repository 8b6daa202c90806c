package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// ErrNotConfirmed is returned by Delete when nobody said yes.
var ErrNotConfirmed = errors.New("nothing was deleted")

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1024

// Evict ends the object's live actor once nothing is under way in it, for which it waits at most so long: 0 to 60 s.
func (c *Client) Evict(ctx context.Context, ref Ref, wait time.Duration) error {
	host, err := c.act()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait+readTimeout)
	defer cancel()
	if _, err := host.EvictObject(ctx, &dopb.EvictObjectRequest{Object: ref.ref, Wait: durationpb.New(wait)}); err != nil {
		return c.explain(err)
	}
	return c.done(ref, "evicted", nil)
}

// Abort breaks the object's live actor; its callers get message, or a general text if that is empty.
func (c *Client) Abort(ctx context.Context, ref Ref, message string) error {
	host, err := c.act()
	if err != nil {
		return err
	}
	q := &dopb.AbortObjectRequest{Object: ref.ref, Message: message}
	if _, err := call(ctx, host.AbortObject, q); err != nil {
		return c.explain(err)
	}
	return c.done(ref, "aborted", nil)
}

// Confirmation is how Delete asks.
type Confirmation struct {
	// Yes needs no question.
	Yes bool
	// In takes the answer and Out the question; Terminal says that a person sits there.
	In       io.Reader
	Out      io.Writer
	Terminal bool
}

// Delete deletes all of an object's state once that was confirmed. Errors: ErrNotConfirmed, and others that say what
// to do.
func (c *Client) Delete(ctx context.Context, ref Ref, ask Confirmation) error {
	host, err := c.act()
	if err != nil {
		return err
	}
	found, err := c.source.GetObject(ctx, &dopb.GetObjectRequest{Object: ref.ref})
	if err != nil {
		return c.explain(err)
	}
	if err := c.confirm(found, ask); err != nil {
		return err
	}
	r, err := call(ctx, host.DeleteObject, &dopb.DeleteObjectRequest{Object: ref.ref})
	if err != nil {
		return c.explain(err)
	}
	return c.done(ref, "deleted", map[string]any{"was_live": r.GetWasLive()})
}

// confirm asks whether to delete what was found.
func (c *Client) confirm(r *dopb.GetObjectResponse, ask Confirmation) error {
	if ask.Yes {
		return nil
	}
	if !ask.Terminal {
		return errors.New("give --yes to delete without a question, since there is no terminal to ask at")
	}
	s := r.GetObject()
	fmt.Fprintf(ask.Out, "%s %s: %s, alarm: %s, %s\nDelete all of it? There is no way back. (yes/no) ",
		visible(r.GetNamespace()), hexID(s.GetObjectId()), someKeys(s),
		c.alarmLong(s.GetAlarm()), c.actorText(s.GetActor()))
	line, err := bufio.NewReader(io.LimitReader(ask.In, maxAnswer)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "yes" && answer != "y" {
		return ErrNotConfirmed
	}
	return nil
}

// RunAlarm runs the object's alarm now, also before its time with early, and waits at most so long for the run to end.
func (c *Client) RunAlarm(ctx context.Context, ref Ref, early bool, wait time.Duration) error {
	host, err := c.act()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r, err := host.RunAlarm(ctx, &dopb.RunAlarmRequest{Object: ref.ref, Early: early})
	if err != nil {
		return c.explain(err)
	}
	word := strings.ToLower(strings.TrimPrefix(r.GetOutcome().String(), "ALARM_OUTCOME_"))
	if c.options.JSON {
		return c.document(map[string]any{"outcome": word, "alarm": alarmJSON(r.GetAlarm())})
	}
	text := map[dopb.AlarmOutcome]string{
		dopb.AlarmOutcome_ALARM_OUTCOME_OK:         "the alarm ran",
		dopb.AlarmOutcome_ALARM_OUTCOME_FAILED:     "the alarm ran and failed",
		dopb.AlarmOutcome_ALARM_OUTCOME_INTERNAL:   "the alarm could not be run; see the host's log",
		dopb.AlarmOutcome_ALARM_OUTCOME_REPLACED:   "the alarm was changed or deleted before the run began",
		dopb.AlarmOutcome_ALARM_OUTCOME_NO_HANDLER: "the alarm was dropped: its class handles none",
		dopb.AlarmOutcome_ALARM_OUTCOME_PENDING:    "the alarm still runs",
	}[r.GetOutcome()]
	_, err = fmt.Fprintf(c.options.Stdout, "%s; next alarm: %s\n", text, c.alarmLong(r.GetAlarm()))
	return err
}

// someKeys says how many keys an object has.
func someKeys(s *dopb.ObjectSummary) string {
	if s.GetMoreKeys() {
		return fmt.Sprintf("over %d keys", s.GetKeys())
	}
	return keysText(uint64(s.GetKeys()))
}

// done prints what was done to an object.
func (c *Client) done(ref Ref, what string, more map[string]any) error {
	if c.options.JSON {
		doc := map[string]any{"namespace": ref.Namespace, "object_id": ref.ID.String(), "done": what}
		for k, v := range more {
			doc[k] = v
		}
		return c.document(doc)
	}
	_, err := fmt.Fprintf(c.options.Stdout, "%s %s\n", what, ref)
	return err
}
