/* A few threads that do jobs. A job has several tasks, such as groups of streams. Whoever waits for one works, too.

Every row is computed by itself, so results do not depend on the number of threads. One caller at a time may use a pool.
*/
#ifndef TURIA_POOL_H
#define TURIA_POOL_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef void Task(void *context, int64_t number);

typedef struct Job {
  Task *task;
  void *context;
  int64_t next, count, left;     /* tasks: the next one, all of them, those that are not done */
  struct Job *after;
} Job;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  Job *jobs;                     /* the oldest first */
  int64_t threads, stops;
  pid_t owner;                   /* a process that was forked off has none of the threads */
  pthread_t *thread;
} Pool;

/* With the lock held: does one task, of the oldest job that has any; says if there was one. */
static int work_off(Pool *pool) {
  Job *job = pool->jobs;
  while (job && job->next == job->count) job = job->after;
  if (!job) return 0;
  const int64_t number = job->next++;
  pthread_mutex_unlock(&pool->lock);
  job->task(job->context, number);
  pthread_mutex_lock(&pool->lock);
  if (!--job->left) pthread_cond_signal(&pool->done);
  return 1;
}

static void *worker(void *given) {
  Pool *pool = given;
  pthread_mutex_lock(&pool->lock);
  while (!pool->stops)
    if (!work_off(pool)) pthread_cond_wait(&pool->work, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
  return 0;
}

/* Ends the threads; in a process that was forked off there are none, and their memory is left. */
static void end_pool(Pool *pool) {
  if (!pool || pool->owner != getpid()) return;
  pthread_mutex_lock(&pool->lock);
  pool->stops = 1;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (int64_t i = 0; i < pool->threads; i++) pthread_join(pool->thread[i], 0);
  pthread_cond_destroy(&pool->work), pthread_cond_destroy(&pool->done), pthread_mutex_destroy(&pool->lock);
  free(pool->thread), free(pool);
}

/* So many threads beside the caller's; none if they cannot be had. */
static Pool *begin_pool(int64_t threads) {
  Pool *pool = calloc(1, sizeof(Pool));
  if (!pool) return 0;
  pool->thread = calloc(threads, sizeof(pthread_t)), pool->owner = getpid();
  if (!pool->thread) {
    free(pool);
    return 0;
  }
  pthread_mutex_init(&pool->lock, 0), pthread_cond_init(&pool->work, 0), pthread_cond_init(&pool->done, 0);
  while (pool->threads < threads && !pthread_create(pool->thread + pool->threads, 0, worker, pool)) pool->threads++;
  if (pool->threads == threads) return pool;
  end_pool(pool);
  return 0;
}

/* Begins task(context, number) for all numbers below `count`. Without threads, all is done at once. */
static void begin_job(Pool *pool, Job *job, Task *task, void *context, int64_t count) {
  *job = (Job){task, context, 0, count, count, 0};
  if (!pool || pool->owner != getpid()) {
    for (; job->left; job->left--) task(context, job->next++);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  Job **last = &pool->jobs;
  while (*last) last = &(*last)->after;
  *last = job;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
}

/* Works until the job is done; it may be work of other jobs. */
static void finish_job(Pool *pool, Job *job) {
  if (!pool || pool->owner != getpid()) return;
  pthread_mutex_lock(&pool->lock);
  while (job->left)
    if (!work_off(pool)) pthread_cond_wait(&pool->done, &pool->lock);
  Job **place = &pool->jobs;
  while (*place && *place != job) place = &(*place)->after;
  if (*place) *place = job->after;
  pthread_mutex_unlock(&pool->lock);
}

#endif
