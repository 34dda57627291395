import { Component, type ReactNode } from "react";
import { Problem } from "./parts.js";

/** Shows an error of what is inside in its place. The tabs around it stay. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <main>
        <h1>This page cannot be shown</h1>
        <Problem error={error} />
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </main>
    );
  }
}
