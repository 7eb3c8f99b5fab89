"""The writers of findings: terminal text, JSON, HTML, GitHub. JUnit XML is pytest's own, with properties."""
