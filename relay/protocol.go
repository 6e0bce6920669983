package relay

import (
	_ "embed"
	"strings"
	"sync"
)

// protocolText lists the commands and events of each domain: those of Chromium 156 and of package
// cdproto. The tests check it.
//
//go:embed protocol.txt
var protocolText string

// A domain is a line of protocolText.
type domain struct {
	name             string
	commands, events []string
}

func domains() []domain {
	var all []domain
	for line := range strings.Lines(protocolText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		commands, events, _ := strings.Cut(rest, "|")
		all = append(all, domain{name, strings.Fields(commands), strings.Fields(events)})
	}
	return all
}

// The parts of the response to /json/protocol. Clients that build their API from it read the names.
type (
	protocolSchema struct {
		Version struct {
			Major string `json:"major"`
			Minor string `json:"minor"`
		} `json:"version"`
		Domains []protocolDomain `json:"domains"`
	}
	protocolDomain struct {
		Domain   string         `json:"domain"`
		Commands []protocolName `json:"commands"`
		Events   []protocolName `json:"events"`
	}
	protocolName struct {
		Name string `json:"name"`
	}
)

// protocol returns the commands that clients can use, and the events.
var protocol = sync.OnceValue(func() protocolSchema {
	var schema protocolSchema
	schema.Version.Major, schema.Version.Minor = "1", "3"
	for _, d := range domains() {
		x := protocolDomain{Domain: d.name, Commands: []protocolName{}, Events: []protocolName{}}
		for _, name := range d.commands {
			if table()[d.name+"."+name].denied == "" {
				x.Commands = append(x.Commands, protocolName{name})
			}
		}
		if len(x.Commands) == 0 {
			continue
		}
		for _, name := range d.events {
			x.Events = append(x.Events, protocolName{name})
		}
		schema.Domains = append(schema.Domains, x)
	}
	return schema
})
