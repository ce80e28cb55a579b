import type { IncomingMessage } from 'node:http';
import type { Access, Asking } from '../access/access.ts';
import { type Answer, jsonAnswer, refusal } from './answer.ts';
import { readBody } from './body.ts';

const MOST_BODY_BYTES = 4_096;

interface SignInNeeds {
  readonly access: Access;
  readonly now: () => number;
}

/** A browser shows a token once, and is known by a cookie from then on. */
export async function signIn(request: IncomingMessage, { access, now }: SignInNeeds): Promise<Answer> {
  if (!/^text\/plain\b/.test(request.headers['content-type'] ?? ''))
    return refusal(415, 'the token is sent as text/plain');
  const token = await readBody(request, MOST_BODY_BYTES);
  if (token === null) return refusal(413, 'a token is not that long');
  const signedIn = access.signIn(token.trim(), now());
  if (signedIn === null) return refusal(401, 'nobody has this token');
  const { name: user, role } = signedIn.person;
  return withCookie(jsonAnswer(200, { user, role }), signedIn.cookie);
}

/** Whoever has a copy of the cookie is out as well. */
export const signOut = (asking: Asking, { access, now }: SignInNeeds): Answer =>
  withCookie(jsonAnswer(200, {}), access.signOut(asking, now()));

const withCookie = (answer: Answer, cookie: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'set-cookie': cookie },
});
