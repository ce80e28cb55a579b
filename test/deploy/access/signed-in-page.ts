import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DashboardSearch } from '../../../schemas/reports/dashboard.ts';
import { DashboardActionDone } from '../../../schemas/reports/dashboard-actions.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type ServiceProcess, startService } from '../service-process.ts';

const ANN = 'a'.repeat(40);
const BOB = 'b'.repeat(40);

/** A dashboard as a process of its own, with an operator, Ann, and a viewer, Bob, signed in to it. */
export class SignedInPage implements AsyncDisposable {
  readonly service: ServiceProcess;

  private constructor(service: ServiceProcess) {
    this.service = service;
  }

  /** With what it needs to sign. */
  static async start(
    signing: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<SignedInPage> {
    const directory = temporaryDirectory();
    const tokens = join(directory, 'tokens');
    writeFileSync(tokens, `operator ann ${ANN}\nviewer bob ${BOB}\n`, { mode: 0o600 });
    const files = ['--token-file', tokens, '--projection', join(directory, 'projection.db')];
    return new SignedInPage(
      await startService(['dashboard', '--allow-actions', ...files, ...signing], environment),
    );
  }

  /** As its page asks for it; yields the status of the answer, and its text. */
  async act(
    who: 'ann' | 'bob' | 'nobody',
    action: 'pause' | 'resume',
    selector: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { url } = this.service;
    const answer = await fetch(`${url}/api/actions/${action}`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'application/json', ...signIn(who) },
      body: JSON.stringify({ id: randomUUID(), selector, reason: 'by the page' }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      text: answer.ok ? DashboardActionDone.parse(JSON.parse(text)).text : text,
    };
  }

  /** What a viewer finds. */
  async finds(what: string): Promise<readonly string[]> {
    const headers = signIn('bob');
    const answer = await fetch(`${this.service.url}/api/search?q=${encodeURIComponent(what)}`, { headers });
    return DashboardSearch.parse(await answer.json()).found.map(({ name }) => name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.service[Symbol.asyncDispose]());
  }
}

const signIn = (who: 'ann' | 'bob' | 'nobody'): Readonly<Record<string, string>> =>
  who === 'nobody' ? {} : { authorization: `Bearer ${who === 'ann' ? ANN : BOB}` };
