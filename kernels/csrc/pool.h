/* A few threads that share the streams of a step. Whoever calls works too, and waits until all is done.

Every row is computed by itself, so results do not depend on the number of threads. One caller at a time may use a pool.
*/
#ifndef TURIA_POOL_H
#define TURIA_POOL_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef void Task(void *context, int64_t number);

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  Task *task;
  void *context;
  int64_t next, count, left;     /* tasks: the next one, all of them, those that are not done */
  int64_t threads, stops;
  pid_t owner;                   /* a process that was forked off has none of the threads */
  pthread_t *thread;
} Pool;

/* With the lock held: does tasks while there are some. */
static void work_off(Pool *pool) {
  while (pool->next < pool->count) {
    const int64_t number = pool->next++;
    pthread_mutex_unlock(&pool->lock);
    pool->task(pool->context, number);
    pthread_mutex_lock(&pool->lock);
    if (!--pool->left) pthread_cond_signal(&pool->done);
  }
}

static void *worker(void *given) {
  Pool *pool = given;
  pthread_mutex_lock(&pool->lock);
  while (!pool->stops) {
    work_off(pool);
    if (!pool->stops) pthread_cond_wait(&pool->work, &pool->lock);
  }
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

/* Runs task(context, number) for all numbers below `count`. */
static void run_tasks(Pool *pool, Task *task, void *context, int64_t count) {
  if (!pool || count < 2 || pool->owner != getpid()) {
    for (int64_t i = 0; i < count; i++) task(context, i);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->task = task, pool->context = context;
  pool->next = 0, pool->count = pool->left = count;
  pthread_cond_broadcast(&pool->work);
  work_off(pool);
  while (pool->left) pthread_cond_wait(&pool->done, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

#endif
