package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// fakeDNS answers each lookup by what a function says; it speaks DNS over a pipe.
type fakeDNS struct {
	// answers returns the addresses of any name; it is asked for each query, from any goroutine.
	answers func() []string
}

// resolver returns a resolver that asks f. Its goroutines have ended when the test has.
func (f *fakeDNS) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		running.Go(func() {
			defer func() { _ = server.Close() }()
			for f.answer(server) == nil {
			}
		})
		return client, nil
	}}
}

// answer answers one query. A pipe is no packet connection, so messages have their length before them.
func (f *fakeDNS) answer(conn net.Conn) error {
	var length uint16
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		return err
	}
	packet := make([]byte, length)
	if _, err := io.ReadFull(conn, packet); err != nil {
		return err
	}
	var query dnsmessage.Message
	if err := query.Unpack(packet); err != nil {
		return err
	}
	reply := dnsmessage.Message{Header: query.Header, Questions: query.Questions}
	reply.Response, reply.RecursionAvailable = true, true
	f.fill(&reply)
	packed, err := reply.Pack()
	if err != nil {
		return err
	}
	if err := binary.Write(conn, binary.BigEndian, uint16(len(packed))); err != nil {
		return err
	}
	_, err = conn.Write(packed)
	return err
}

func (f *fakeDNS) fill(reply *dnsmessage.Message) {
	q := reply.Questions[0]
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		return
	}
	for _, text := range f.answers() {
		address := netip.MustParseAddr(text)
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && address.Is4():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: header, Body: &dnsmessage.AResource{A: address.As4()},
			})
		case q.Type == dnsmessage.TypeAAAA && address.Is6():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()},
			})
		}
	}
}
