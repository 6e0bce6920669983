package executor

// An Obstacle stands between a client and the page that it wants: a captcha,
// a refusal, a login, a question of consent. It is recognised from what pages
// of that kind have in common, and rather missed than invented. None of its
// words are the page's.
type Obstacle struct {
	Kind       ObstacleKind `json:"kind"`
	Confidence Confidence   `json:"confidence"`
	// Advice is a sentence or two on what the user or the client can do.
	Advice string `json:"advice"`
}

// An ObstacleKind is a kind of [Obstacle].
type ObstacleKind string

// The kinds of obstacle.
const (
	ObstacleCaptcha ObstacleKind = "captcha"       // a check whether somebody is human
	ObstacleDenied  ObstacleKind = "access-denied" // the site refuses the page
	ObstacleLogin   ObstacleKind = "login"         // the page is for users who are logged in
	ObstacleConsent ObstacleKind = "consent"       // a question about cookies or privacy covers the page
)

// Confidence says how sure a finding is.
type Confidence string

// The values of Confidence.
const (
	ConfidenceHigh Confidence = "high" // there is no way on before it is dealt with
	ConfidenceLow  Confidence = "low"  // it may be in the way; the page may be of use as it is
)
