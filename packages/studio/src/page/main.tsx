import { StrictMode, useEffect, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { ErrorBoundary } from "./error-boundary.js";
import { BulkProgress } from "./bulk.js";
import { httpSource, RETRY_MS, type About } from "./http-source.js";
import { Problem } from "./parts.js";
import { PoolPage } from "./pool-page.js";
import { RunPage } from "./run-page.js";
import { RunsPage } from "./runs-page.js";
import { Studio } from "./studio.js";
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
  const [path = "", query] = hash.slice(1).split("?");
  const [, place = "runs", id] = path.split("/");
  const parts = { server, about: about ?? { title: "" } };
  return (
    <Studio value={parts}>
      <header>
        <strong>Stepwise</strong> <span>{about?.title}</span>
        <nav aria-label="Pages">
          <Tab name="Runs" place="runs" isHere={place !== "workflows" && place !== "pool"} />
          <Tab name="Workflows" place="workflows" isHere={place === "workflows"} />
          <Tab name="Pool" place="pool" isHere={place === "pool"} />
        </nav>
      </header>
      <Problem error={error} />
      <ErrorBoundary what="What is done to many runs">
        <BulkProgress />
      </ErrorBoundary>
      <ErrorBoundary key={path} what="This page">
        {about === undefined ? null : place === "workflows" ? (
          <WorkflowsPage name={id} />
        ) : place === "pool" ? (
          <PoolPage />
        ) : id === undefined || id === "" ? (
          <RunsPage query={new URLSearchParams(query)} />
        ) : (
          <RunPage key={id} runId={id} />
        )}
      </ErrorBoundary>
    </Studio>
  );
}

function Tab({ name, place, isHere }: { name: string; place: string; isHere: boolean }) {
  return (
    <a href={`#/${place}`} aria-current={isHere ? "page" : undefined}>
      {name}
    </a>
  );
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
