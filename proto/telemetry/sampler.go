package telemetry

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// limitedSampler records at most so many traces in a second of those that another sampler takes.
type limitedSampler struct {
	sdktrace.Sampler
	limit *rate.Limiter
}

// limited returns a sampler that takes at most perSecond of what s takes in a second; zero means all.
func limited(s sdktrace.Sampler, perSecond int) sdktrace.Sampler {
	if perSecond == 0 {
		return s
	}
	return limitedSampler{s, rate.NewLimiter(rate.Limit(perSecond), perSecond)}
}

// ShouldSample implements sdktrace.Sampler.
func (s limitedSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := s.Sampler.ShouldSample(p)
	if r.Decision == sdktrace.RecordAndSample && !s.limit.Allow() {
		return sdktrace.SamplingResult{
			Decision: sdktrace.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState(),
		}
	}
	return r
}
