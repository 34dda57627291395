import { Component, type ReactNode } from "react";
import { Problem } from "./parts.js";

interface Props {
  /** The part of the page that is inside, as the message names it. */
  readonly what: string;
  /** Is shown in the place of what is inside, below the message. */
  readonly instead?: ReactNode;
  readonly children: ReactNode;
}

/** Shows an error of what is inside in its place. All that is around it goes on. */
export class ErrorBoundary extends Component<Props, { error?: Error | undefined }> {
  override state: { error?: Error | undefined } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    const { what, instead, children } = this.props;
    if (error === undefined) return children;
    return (
      <section className="broken" aria-label={what}>
        <Problem error={new Error(`${what} cannot be shown: ${error.message}`)} />
        <button type="button" onClick={() => this.setState({ error: undefined })}>
          Try again
        </button>
        {instead}
      </section>
    );
  }
}
