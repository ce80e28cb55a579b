import { useState } from 'preact/hooks';
import type { DashboardSession } from '../../../../schemas/reports/dashboard.ts';

export function SignIn() {
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

export function SignOut({ session: { user, role, by } }: { readonly session: DashboardSession }) {
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
