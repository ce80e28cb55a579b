import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import type { DashboardSession } from '../../../schemas/reports/dashboard.ts';
import type { DashboardActionName } from '../../../schemas/reports/dashboard-actions.ts';
import { type Access, type Asking, type Identified, mayDo } from '../access/access.ts';
import type { ActionDesk } from '../actions/desk.ts';
import { ACTIONS } from '../actions/perform.ts';
import { type Answer, inOurWords, jsonAnswer, problemText, readBody, refusal, tooMuch } from './answer.ts';

/** A selector of some hundred names, or a hundred dead letters. */
const MOST_BODY_BYTES = 32 * 1024;
const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

interface ActNeeds {
  readonly access: Access;
  /** `null` without `--allow-actions`. */
  readonly desk: ActionDesk | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export const ACTION_PATHS = '/api/actions/';

const isAction = (name: string): name is DashboardActionName => Object.hasOwn(ACTIONS, name);

/** Whether somebody may act from the page. */
export function mayAct(person: Identified, desk: ActionDesk | null): DashboardSession['actions'] {
  if (desk === null)
    return { allowed: false, why: 'nobody may act here: the dashboard runs without --allow-actions' };
  return mayDo(person.role, 'operator')
    ? { allowed: true }
    : { allowed: false, why: 'only operators may act, and you are a viewer' };
}

/**
 * Does what somebody asks for. What no page of another origin can send is all that is taken: JSON by POST, from an origin that is that
 * of this page, by somebody who is signed in. Nothing of it is read before all of that is known.
 */
export async function act(
  request: IncomingMessage,
  asking: Asking,
  { name, needs }: { readonly name: string; readonly needs: ActNeeds },
): Promise<Answer> {
  const { access, desk, now } = needs;
  if (asking.method !== 'POST') return refusal(405, 'only POST');
  const objection = access.objectionToActing(asking);
  if (objection !== null) return refusal(403, objection);
  const person = access.identify(asking, now());
  if (person === null) return refusal(401, 'sign in first');
  const may = mayAct(person, desk);
  if (!may.allowed || desk === null) return refusal(403, may.allowed ? '' : may.why);
  if (!isAction(name)) return refusal(404, 'there is no such action');
  const waitMs = desk.waitMs(person);
  if (waitMs > 0) return tooMuch('too much in a minute: wait, and try again', waitMs);
  const asked = await readAsked(request, ACTIONS[name].schema);
  return 'status' in asked ? asked : await done(desk, { person, name, asked: asked.asked });
}

async function readAsked(
  request: IncomingMessage,
  schema: z.ZodType<{ readonly id: string }>,
): Promise<Answer | { readonly asked: { readonly id: string } }> {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    return refusal(415, 'it has to be sent as application/json');
  const text = await readBody(request, MOST_BODY_BYTES);
  if (text === null) return refusal(413, `more than ${MOST_BODY_BYTES} bytes are not read`);
  const json = jsonIn(text);
  if (json === undefined) return refusal(400, 'what was sent is no JSON');
  const given = schema.safeParse(json, { error: inOurWords });
  return given.success ? { asked: given.data } : refusal(400, problemText(given.error));
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function done(desk: ActionDesk, asked: Parameters<ActionDesk['do']>[0]): Promise<Answer> {
  const doing = desk.do(asked);
  if (doing === null) return refusal(409, 'something else was asked for under this id: load the page anew');
  try {
    return jsonAnswer(200, await doing);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    return refusal(statusOf(error), error.code === 'INTERNAL' ? UNFORESEEN : error.message);
  }
}

const UNFORESEEN = 'it could not be done; the logger output of the dashboard says why';

function statusOf({ code, retry }: FleetGcError): number {
  if (code === 'NOT_FOUND') return 404;
  if (code === 'POLICY_INVALID') return 400;
  if (code === 'INTERNAL') return 500;
  return retry ? 503 : 409;
}
