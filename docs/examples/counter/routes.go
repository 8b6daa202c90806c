package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// routes are what the worker answers. A stub costs nothing; each call finds the object's host, or the object to wake.
func routes(counters *durableobject.Namespace) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /counter/{name}/increment", func(w http.ResponseWriter, r *http.Request) {
		answer[int](w, r, counters, "increment", 1)
	})
	mux.HandleFunc("GET /counter/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer[Status](w, r, counters, "status", nil)
	})
	mux.HandleFunc("POST /counter/{name}/reset", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(r.URL.Query().Get("in"), 64)
		if err != nil || !(seconds >= 0 && seconds <= 86400) {
			http.Error(w, "in must be a number of seconds, 0 to 86400", http.StatusBadRequest)
			return
		}
		answer[any](w, r, counters, "resetIn", seconds)
	})
	mux.HandleFunc("GET /ping/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer[int](w, r, counters, "ping", nil)
	})
	return mux
}

// answer calls a method of the object that the path names and writes what it returns, as JSON.
func answer[R any](w http.ResponseWriter, r *http.Request, ns *durableobject.Namespace, method string, arg any) {
	ctx, cancel := context.WithTimeout(telemetry.ExtractHTTP(r.Context(), r.Header), callTimeout)
	defer cancel()
	ctx, span := telemetry.Start(ctx, telemetry.SpanHTTPServer+" "+r.Method)
	result, err := durableobject.Call[R](ctx, ns.GetByName(r.PathValue("name")), method, arg)
	span.End(err)
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	body, err := json.Marshal(result)
	if err != nil {
		http.Error(w, "encode the result", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(body, '\n')) // an error means that the client has gone
}

// statusOf says what a client should make of an error: 503 asks it to come again.
func statusOf(err error) int {
	e, ok := errors.AsType[*durableobject.Error](err)
	switch {
	case !ok:
		return http.StatusInternalServerError
	case e.Retryable || e.Overloaded:
		return http.StatusServiceUnavailable
	case e.Reason == sidecar.ReasonException: // the class refused
		return http.StatusUnprocessableEntity
	case e.Reason == sidecar.ReasonDeadline:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
