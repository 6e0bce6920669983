package mutation

var dashboard = promises{
	"The dashboard opens only with a one-use code": {
		{
			File: "internal/dashboard/login.go",
			Old:  "	if !l.drop(sha256.Sum256([]byte(secret))) {\n",
			New:  "	if l.codes[sha256.Sum256([]byte(secret))] == nil {\n",
			Test: "^TestLogin$",
		},
		{
			File: "internal/dashboard/login.go",
			Old:  "		l.drop(key)\n	})}\n",
			New:  "	})}\n",
			Test: "^TestCodesAndLoginsEnd$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  `r.PostFormValue("code")`,
			New:  `r.FormValue("code")`,
			Test: "^TestLogin$",
		},
	},
	"The cookie of the dashboard is HttpOnly, SameSite=Strict": {
		{
			File: "internal/dashboard/http.go",
			Old:  "Path: web.path, MaxAge",
			New:  `Path: "/", MaxAge`,
			Test: "^TestLogin$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  "		HttpOnly: true, SameSite: http.SameSiteStrictMode,\n	})",
			New:  "		HttpOnly: true, SameSite: http.SameSiteLaxMode,\n	})",
			Test: "^TestLogin$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  "			if one == nil {\n",
			New:  "			if one == nil && r.Header.Get(\"Cookie\") == \"\" {\n",
			Test: "^TestRequests$",
		},
	},
	"Connections without a login do not close a connection to the dashboard over which the server has accepted a request of the user.": {
		{
			File: "internal/dashboard/http.go",
			Old:  "			connlimit.SetOwner(r.Context(), one, 0)\n",
			New:  "			_ = connlimit.SetOwner\n",
			Test: "^TestConnectionsWithoutLogin$",
		},
	},
	"The dashboard answers only requests of its page and of its user": {
		{
			File: "internal/dashboard/http.go",
			Old:  "		case r.Host != w.host:\n",
			New:  "		case false:\n",
			Test: "^TestRequests$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  "		case !sameOrigin(r, w):\n",
			New:  "		case false:\n",
			Test: "^TestRequests$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  "	if needed && len(origin) == 0 || ",
			New:  "	_ = needed\n	if ",
			Test: "^TestRequests$",
		},
		{
			File: "internal/dashboard/http.go",
			Old:  `frame-ancestors 'none'; `,
			New:  ``,
			Test: "^TestRequests$",
		},
	},
	"The dashboard listens on loopback, and only from": {{
		File: "internal/dashboard/dashboard.go",
		Old:  "	s.logins.unused = s.stopUnused\n",
		New:  "",
		Test: "^TestPortIsClosed$",
	}},
	"Agents cannot open the dashboard": {{
		File:    "internal/compose/bridge.go",
		Old:     "			return slices.Concat(ports, dashboard.Ports(data))\n",
		New:     "			return ports\n",
		Package: "./cmd/chrome-mcp", Test: "^TestPagesCannotReachDashboard$",
	}},
	"The link to the dashboard, its code and its cookie are in no result": {{
		File:    "internal/dashboard/dashboard.go",
		Old:     "	return Login{File: path}, nil\n",
		New:     "	s.log.Info(\"The dashboard can be opened.\", \"file\", path)\n	return Login{File: path}, nil\n",
		Package: "./cmd/chrome-mcp", Test: "^TestAskUserInDashboard$",
	}},
	"A live view shows nothing of a tab": {
		{
			File:    "internal/live/live.go",
			Old:     "	case known && !readable:\n",
			New:     "	case known && !readable && l == nil:\n",
			Package: "./executor/chromium", Test: "^TestLiveView$",
		},
		{
			File:    "internal/live/input.go",
			Old:     "	if readable, _ := l.client.AllReadable(ctx); !readable {\n",
			New:     "	if false {\n",
			Package: "./executor/chromium", Test: "^TestLiveView$",
		},
	},
	"The mouse and keyboard of the user reach a page through the dashboard only": {{
		File:    "internal/page/live.go",
		Old:     "	sending := u.sending\n",
		New:     "	sending := new(sync.WaitGroup)\n",
		Package: "./internal/dashboard", Test: "^TestDashboard$",
	}},
}
