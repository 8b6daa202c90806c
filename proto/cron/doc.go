// Package cron reads the schedules of Cron Triggers and says when they are next due.
//
// A schedule has five fields: minute, hour, day of the month, month, day of the week, in UTC. The dialect is
// Cloudflare's, which no Go library has: days of the week are 1 to 7 from Sunday, ranges may wrap (FRI-MON), L, LW,
// L-3, L-3W and 15W stand for days of the month, L, 6L and 6#2 for days of the week. Where both days are restricted a
// day that fits either is due. Like Cloudflare's parser: saffron/src/parse.rs and lib.rs.
//
// A Schedule is a value that may be used from any goroutine.
package cron
