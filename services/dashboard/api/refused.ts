/** In place of an answer: why there is none, in a sentence for people. */
export class Refused {
  readonly status: number;
  readonly problem: string;

  constructor(status: number, problem: string) {
    this.status = status;
    this.problem = problem;
  }
}
