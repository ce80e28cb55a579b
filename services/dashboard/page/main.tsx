import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DashboardSession } from '../../../schemas/reports/dashboard.ts';
import { onLink, useView, type View } from './addresses.ts';
import { SessionContext, useAnswer } from './asking.ts';
import { Shown } from './parts.tsx';
import { ViewBoundary } from './view-boundary.tsx';
import { ClusterView } from './views/cluster.tsx';
import { ClusterObjectView } from './views/cluster-object.tsx';
import { ClustersView } from './views/clusters.tsx';
import { DeadLettersView } from './views/dead-letters.tsx';
import { FleetView } from './views/fleet.tsx';
import { HistoryView } from './views/history.tsx';
import { ImagesView } from './views/images.tsx';
import { LiveView } from './views/live.tsx';
import { NodeView } from './views/node.tsx';
import { ObjectView } from './views/object.tsx';
import { PoliciesView, PolicyView } from './views/policy.tsx';
import { ReportView } from './views/report.tsx';
import { SearchView } from './views/search.tsx';

function Page() {
  const session = useAnswer<DashboardSession>('/api/session', null);
  const view = useView();
  useEffect(() => {
    document.addEventListener('click', onLink);
    return () => document.removeEventListener('click', onLink);
  }, []);
  if (session.kind === 'refused' && session.status === 401) return <SignIn />;
  return (
    <SessionContext.Provider value={session.kind === 'answered' ? session.value : null}>
      <a class="skip" href="#content">
        To the content
      </a>
      <header class="top">
        <strong>FleetGC</strong>
        <Navigation view={view} />
        {session.kind === 'answered' ? <SignOut session={session.value} /> : null}
      </header>
      <main id="content" tabIndex={-1}>
        <Shown answered={session}>
          {() => (
            <ViewBoundary view={view}>
              <Content view={view} />
            </ViewBoundary>
          )}
        </Shown>
      </main>
    </SessionContext.Provider>
  );
}

const VIEWS = [
  { view: 'fleet', name: 'Fleet' },
  { view: 'live', name: 'Live' },
  { view: 'images', name: 'Images' },
  { view: 'clusters', name: 'Clusters' },
  { view: 'policies', name: 'Policies' },
  { view: 'search', name: 'Search' },
  { view: 'report', name: 'Report' },
  { view: 'dead-letters', name: 'Dead letters' },
  { view: 'history', name: 'History' },
] as const;

function Navigation({ view }: { readonly view: View }) {
  return (
    <nav aria-label="Views">
      <ul>
        {VIEWS.map((each) => (
          <li key={each.view}>
            <a href={`/${each.view}`} aria-current={view.view === each.view ? 'page' : undefined}>
              {each.name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Content({ view }: { readonly view: View }) {
  switch (view.view) {
    case 'fleet':
      return <FleetView query={view.query} />;
    case 'node':
      return <NodeView cluster={view.cluster} node={view.node} />;
    case 'live':
      return <LiveView query={view.query} />;
    case 'object':
      return <ObjectView key={`${view.kind} ${view.id}`} kind={view.kind} id={view.id} query={view.query} />;
    case 'images':
      return <ImagesView query={view.query} />;
    case 'report':
      return <ReportView query={view.query} />;
    case 'clusters':
      return <ClustersView query={view.query} />;
    case 'cluster':
      return <ClusterView key={view.cluster} cluster={view.cluster} query={view.query} />;
    case 'cluster-object':
      return <ClusterObjectView key={view.uid} cluster={view.cluster} uid={view.uid} />;
    case 'policies':
      return view.name === null ? <PoliciesView /> : <PolicyView name={view.name} query={view.query} />;
    case 'search':
      return <SearchView query={view.query} />;
    case 'dead-letters':
      return <DeadLettersView query={view.query} />;
    case 'history':
      return <HistoryView query={view.query} />;
  }
}

const place = document.getElementById('page');
if (place !== null) {
  place.replaceChildren();
  render(<Page />, place);
}

function SignIn() {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get('token');
    const response = await fetch('/sign-in', { method: 'POST', body: String(token ?? '') });
    if (response.ok) location.reload();
    else setProblem(response.status === 401 ? 'Nobody has this token.' : 'That did not work. Try again.');
  };
  return (
    <main>
      <h1>FleetGC</h1>
      <form class="controls" onSubmit={submit}>
        <label>
          Your token
          <input name="token" type="password" autocomplete="current-password" required maxLength={512} />
        </label>
        <button type="submit">Sign in</button>
      </form>
      {problem === null ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
    </main>
  );
}

function SignOut({ session: { user, role, by } }: { readonly session: DashboardSession }) {
  const leave = async (): Promise<void> => {
    await fetch('/sign-out', { method: 'POST' });
    location.reload();
  };
  if (by === 'loopback') return <span class="quiet">this machine only</span>;
  return (
    <span class="quiet">
      {user} ({role}){' '}
      {by === 'token' ? (
        <button type="button" onClick={leave}>
          Sign out
        </button>
      ) : null}
    </span>
  );
}
