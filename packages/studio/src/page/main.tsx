import { StrictMode, useEffect, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { ErrorBoundary } from "./error-boundary.js";
import { BulkProgress } from "./bulk.js";
import { httpSource, RETRY_MS, type About } from "./http-source.js";
import { cut, Problem } from "./parts.js";
import { PoolPage } from "./pool-page.js";
import { RunPage } from "./run-page.js";
import { RunsPage } from "./runs-page.js";
import { Studio, useTitle } from "./studio.js";
import { takeToken, tellTabs } from "./token.js";
import { WorkflowsPage } from "./workflows-page.js";

const token = await takeToken();
const server = httpSource(token);
tellTabs(token, server);

function App() {
  const hash = useHash();
  const [about, setAbout] = useState<About>();
  const [error, setError] = useState<Error>();
  // The plans may have changed by the time that another page is opened.
  useEffect(() => {
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      server.about().then(
        (answer) => {
          setAbout(answer);
          setError(undefined);
        },
        (thrown: Error) => {
          setError(thrown);
          again = setTimeout(ask, RETRY_MS);
        },
      );
    };
    ask();
    return () => clearTimeout(again);
  }, [hash]);
  const { path, place, id, query } = placeOf(hash);
  const parts = { server, about: about ?? { title: "" } };
  return (
    <Studio value={parts}>
      <header>
        <strong>Stepwise</strong> <span>{about?.title}</span>
        <nav aria-label="Pages">
          {["Runs", "Workflows", "Pool"].map((name) => (
            <Tab key={name} name={name} shown={place} />
          ))}
        </nav>
      </header>
      <Problem error={error} />
      <ErrorBoundary what="What is done to many runs">
        <BulkProgress />
      </ErrorBoundary>
      <ErrorBoundary key={path} what="This page">
        {about === undefined ? null : place === "workflows" ? (
          <WorkflowsPage name={id} />
        ) : place === "pool" && id === undefined ? (
          <PoolPage />
        ) : place !== "runs" ? (
          <NoPage path={path} />
        ) : id === undefined ? (
          <RunsPage query={new URLSearchParams(query)} />
        ) : (
          <RunPage key={id} runId={id} />
        )}
      </ErrorBoundary>
    </Studio>
  );
}

function Tab({ name, shown }: { name: string; shown: string }) {
  const place = name.toLowerCase();
  return (
    <a href={`#/${place}`} aria-current={place === shown ? "page" : undefined}>
      {name}
    </a>
  );
}

function NoPage({ path }: { path: string }) {
  useTitle("Not found");
  return (
    <main>
      <p className="empty" role="alert">
        There is no page {JSON.stringify(cut(path, 200))}. <a href="#/runs">Show all runs</a>
      </p>
    </main>
  );
}

/** Returns what an address shows: `runs` if it is empty. A slash at its end changes nothing. */
function placeOf(hash: string) {
  const [given = "", query] = hash.replace(/^#\/*/, "").split("?");
  const path = decoded(given.replace(/\/+$/, "")) || "runs";
  const [place = "", ...rest] = path.split("/");
  return { path, place, id: rest.length > 0 ? rest.join("/") : undefined, query };
}

/** Reads what a browser or a person has encoded. Anything else stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function useHash(): string {
  return useSyncExternalStore(subscribeToHash, () => location.hash);
}

function subscribeToHash(onChange: () => void) {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
