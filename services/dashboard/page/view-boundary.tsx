import { Component, type ComponentChildren } from 'preact';
import type { View } from './addresses.ts';

interface Props {
  readonly view: View;
  readonly children: ComponentChildren;
}

interface State {
  readonly problem: string | null;
}

/** Of a view that breaks, it says so in its place; whoever goes to another one, or tries again, finds it whole. */
export class ViewBoundary extends Component<Props, State> {
  override readonly state: State = { problem: null };

  static override getDerivedStateFromError(error: unknown): State {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override componentDidUpdate({ view }: Props): void {
    if (view !== this.props.view && this.state.problem !== null) this.setState({ problem: null });
  }

  override render() {
    const { problem } = this.state;
    if (problem === null) return this.props.children;
    return (
      <section role="alert">
        <h1>This view cannot be shown</h1>
        <p class="bad">{problem}</p>
        <p>The other views work. Try again, or load the page anew; the command line tells the same.</p>
        <button type="button" onClick={() => this.setState({ problem: null })}>
          Try again
        </button>
      </section>
    );
  }
}
