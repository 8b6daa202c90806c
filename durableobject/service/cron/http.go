package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tandem-do/tandem/proto/cron"
)

// maxAnswerBytes bounds what is read of a Worker's answer.
const maxAnswerBytes = 64 << 10

// errNoAddress is the error of an event whose Worker told no address.
var errNoAddress = errors.New("the Worker told no address to deliver events to")

// ByHTTP delivers events to the address that their Worker told, at cron.DeliveryPath. It follows no redirects.
func ByHTTP(transport http.RoundTripper) cron.Deliver {
	return func(ctx context.Context, e cron.Event) (r cron.Result, err error) {
		if e.Address == "" {
			return r, errNoAddress
		}
		q := url.Values{
			"cron": {e.Cron}, "time": {strconv.FormatInt(e.ScheduledTime.UnixMilli(), 10)}, "format": {"json"},
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Address+cron.DeliveryPath+"?"+q.Encode(), nil)
		if err != nil {
			return r, fmt.Errorf("address of a Worker: %w", err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return r, fmt.Errorf("deliver a scheduled event: %w", err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return r, fmt.Errorf("read how a scheduled event ended: %w", err)
		}
		if err := json.Unmarshal(body, &r); err != nil || r.Outcome == "" {
			return r, fmt.Errorf("the Worker answered a scheduled event with status %d and no outcome", response.StatusCode)
		}
		return r, nil
	}
}

// checkAddress checks the origin of a Worker.
func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" ||
		u.User != nil {
		return refuse("address %.100q is no origin, like http://127.0.0.1:8787", address)
	}
	return nil
}
