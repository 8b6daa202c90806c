// Package cron is the class Cron: an object of it keeps the schedules of one Worker and has a scheduled event delivered
// whenever one is due. proto/cron has what its methods take and return.
//
//	Set ──► next times ──► alarm ──► next times on disk ──► Deliver ──► outcome on disk
//
// Keys of an object's storage: "schedules" has all of them with their next times; "last/<expression>" has the last event
// of one.
//
// Guarantees: an event is delivered at most once, at its minute or less than a minute later, and never before. One that
// was due while no host ran, for longer than that, is missed: it is not made up for, like Cloudflare's. Events of one
// Worker run beside each other, those of one schedule too, up to 64. An event that runs for 15 minutes is given up.
//
// The host calls it, on the turns of its objects; Deliver is called outside of them.
package cron
